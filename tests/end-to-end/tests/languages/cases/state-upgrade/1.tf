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

resource "inventory_item" "a" {
  name     = "A"
  quantity = 12345678901234567890
  price    = 0.1
  tags     = { k = "v" }
}
