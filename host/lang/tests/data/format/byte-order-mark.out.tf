resource "a" "b" {
  x = c
}
variable "x" { type = list(any) }
