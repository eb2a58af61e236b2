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

output "slug" {
  value = provider::inventory::slug(" Größe & Farbe: rot ")
}

output "total" {
  value = provider::inventory::total(9223372036854775807, 9223372036854775807, -1)
}

output "nothing" {
  value = provider::inventory::total()
}

output "types" {
  value = [
    provider::inventory::describe([1, "a", null]),
    provider::inventory::describe({ b = true, a = tolist(["x"]) }),
    provider::inventory::describe(toset([1])),
  ]
}
