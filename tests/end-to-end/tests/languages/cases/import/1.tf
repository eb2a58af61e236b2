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

import {
  to = inventory_item.a
  id = "wh-lamp"
}

resource "inventory_item" "a" {
  name = "lamp"
}
