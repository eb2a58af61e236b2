terraform {
  required_providers {
    inventory = {
      source = "example.com/acme/inventory"
    }
  }
}

provider "inventory" {
  prefix = "wh"
}

resource "inventory_item" "lamp" {
  name     = "Blue Lamp"
  quantity = 3
  price    = 0.1234567890123456789
  tags     = {}
  groups   = []
  size     = { width = 3, height = 0.1, unit = "mm" }
  note     = "text"

  part {
    name  = "screw"
    count = 9223372036854775807
  }
}

resource "inventory_item" "bare" {
  name = "Armchair"
}
