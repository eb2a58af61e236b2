variable "a" {
  type = string
}
variable "b" {
  type = list(string)
}
variable "c" {
  type = map(string)
}
variable "d" {
  type = list(any)
}
variable "e" {
  type = map(any)
}
variable "f" {
  type = set(any)
}
variable "g" { type = string }
variable "h" {
  type    = string # comment
  default = x
}
variable "i" {
  type = /* x */ list(string) /* y */
}
variable "j" "k" {
  type = map(any)
}
variable {
  type = map(string)
}
