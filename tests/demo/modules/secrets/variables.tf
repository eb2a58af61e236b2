variable "names" {
  type = set(string)
}

variable "directory" {
  type = string
}

variable "rotation" {
  description = "New passwords are made when this changes."
  type        = string
}
