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

resource "inventory_item" "first" {
  name     = "First"
  quantity = 1000
}

resource "inventory_item" "second" {
  name     = "Second ${inventory_item.first.id}"
  quantity = inventory_item.first.total
  price    = inventory_item.first.total
  tags     = { id = inventory_item.first.id }
  note     = inventory_item.first.locked
  size     = { width = inventory_item.first.total, height = 2 }

  part {
    name = inventory_item.first.id
  }
}

resource "inventory_item" "third" {
  for_each = toset(["x", "y"])
  name     = each.key
  note     = [inventory_item.first.id, null]
}
