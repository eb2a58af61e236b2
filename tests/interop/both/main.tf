terraform {
  required_providers {
    both = {
      source = "hashicorp/both"
    }
  }
}

# What changes when this does.
variable "revision" {
  type    = string
  default = "one"
}

resource "random_id" "it" {
  provider    = both
  prefix      = "it-"
  byte_length = 4
}

resource "null_resource" "it" {
  provider = both
  triggers = {
    revision = var.revision
    id       = random_id.it.hex
  }
}

data "null_data_source" "it" {
  provider = both
  inputs   = { revision = var.revision }
}

output "inputs" {
  value = data.null_data_source.it.outputs
}
