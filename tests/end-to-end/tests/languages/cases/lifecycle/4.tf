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
  name = "Blue Lamp"
}
