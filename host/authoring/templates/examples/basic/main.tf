# "wardian plugin dev" plans this configuration after each change.
terraform {
  required_providers {
    @@name@@ = {
      source = "@@source@@"
    }
  }
}

variable "name" {
  type    = string
  default = "Ada"
}

data "@@name@@_greeting" "this" {
  name = var.name
}

resource "@@name@@_note" "this" {
  title = "greeting"
  text  = data.@@name@@_greeting.this.text
}

output "note" {
  value = @@name@@_note.this
}
