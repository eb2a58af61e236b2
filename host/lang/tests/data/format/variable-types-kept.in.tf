variable "a" {
type="number"
}
variable "b" {
type="set"
}
variable "c" {
type=" string"
}
variable "d" {
type=any
}
variable "e" {
type=object
}
variable "f" {
type=list(list)
}
variable "g" {
type=list("string")
}
variable "h" {
type=object({a="string",b=list})
}
variable "i" {
type="${string}"
}
variable "j" {
type=("string")
}
variable "k" {
inner {
type="string"
}
}
output "l" {
type="string"
}
resource "variable" "m" {
type=list
variable "n" {
type=list
}
}
type="list"
