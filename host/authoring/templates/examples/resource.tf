resource "@@name@@_note" "example" {
  title = "groceries"
  text  = "Milk and bread."
}
