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
  quantity = 2
  price    = 19.99
  tags     = { b = "2", a = "ä€😀", "a key" = "" }
  groups   = ["x", "a"]
  size     = { width = 2, height = 1.5 }
  note     = { kind = "free", sizes = [1, 2.5, null] }
  supplier = "confidential"
  pin      = "1234"

  part {
    name = "bulb"
  }

  part {
    name  = "screw"
    count = 9007199254740993
  }
}

resource "inventory_item" "bare" {
  name = "Chair"
}

data "inventory_lookup" "ids" {
  names = [inventory_item.lamp.name, "Red  chair!"]
}

output "ids" {
  value = data.inventory_lookup.ids.ids
}

output "total" {
  value = inventory_item.lamp.total
}
