terraform {
  required_providers {
    null = {
      source = "hashicorp/null"
    }
  }
}

# What changes when this does.
variable "revision" {
  type    = string
  default = "one"
}

resource "null_resource" "it" {
  triggers = { revision = var.revision }
}

data "null_data_source" "it" {
  inputs = { revision = var.revision }
}

output "inputs" {
  value = data.null_data_source.it.outputs
}
