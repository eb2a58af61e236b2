terraform {
  required_providers {
    random = {
      source = "hashicorp/random"
    }
  }
}

# What changes when this does.
variable "revision" {
  type    = string
  default = "one"
}

resource "random_bytes" "it" {
  length  = 8
  keepers = { revision = var.revision }
}

resource "random_id" "it" {
  byte_length = 4
  prefix      = "id-${var.revision}-"
}

resource "random_integer" "it" {
  min = 1
  max = var.revision == "one" ? 50 : 100
}

resource "random_password" "it" {
  length      = 16
  special     = false
  min_numeric = 2
  keepers     = { revision = var.revision }
}

resource "random_pet" "it" {
  length    = 2
  separator = var.revision == "one" ? "-" : "_"
}

resource "random_shuffle" "it" {
  input        = ["a", "b", "c", "d"]
  result_count = var.revision == "one" ? 2 : 3
}

resource "random_string" "it" {
  length = var.revision == "one" ? 8 : 12
}

resource "random_uuid" "it" {
  keepers = { revision = var.revision }
}

ephemeral "random_password" "it" {
  length = 8
}

output "name" {
  value = "${random_pet.it.id} ${random_integer.it.result}"
}
