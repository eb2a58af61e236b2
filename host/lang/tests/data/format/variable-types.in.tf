variable "a" {
type="string"
}
variable "b" {
type="list"
}
variable "c" {
type="map"
}
variable "d" {
type=list
}
variable "e" {
type=map
}
variable "f" {
type=set
}
variable "g" { type="string" }
variable "h" {
type="string" # comment
default="${x}"
}
variable "i" {
type=/* x */"list"/* y */
}
variable "j" "k" {
type=map
}
variable {
type="map"
}
