resource "a"
"b" {
}
