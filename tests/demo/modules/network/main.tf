terraform {
  required_providers {
    null = {
      source = "hashicorp/null"
    }
    random = {
      source = "hashicorp/random"
    }
  }
}

locals {
  prefix = "10.${random_integer.block.result}"
}

resource "random_integer" "block" {
  min = 16
  max = 31

  keepers = {
    name = var.name
  }
}

resource "random_id" "subnet" {
  count = length(var.zones)

  byte_length = 4
  prefix      = "subnet-${element(var.zones, count.index)}-"
}

resource "null_resource" "route" {
  count = length(var.zones)

  triggers = {
    subnet = random_id.subnet[count.index].hex
    range  = "${local.prefix}.${count.index}.0/24"
  }
}
