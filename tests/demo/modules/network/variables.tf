variable "name" {
  type = string
}

variable "zones" {
  type = list(string)
}
