data "@@name@@_greeting" "example" {
  name = "Ada"
}
