a   = 1
bbb = 2 # comment
/* over
lines */
resource "a" "b" {

  c = d
  e = [
    1,
  ]
  f = <<EOT
  text ${x}
EOT
}
variable "x" {
  type = list(string)
}
g = a
h = {
  a   = 1 # b
  ccc = 2 # d
}
