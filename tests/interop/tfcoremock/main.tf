terraform {
  required_providers {
    tfcoremock = {
      source = "hashicorp/tfcoremock"
    }
  }
}

# What changes when this does.
variable "revision" {
  type    = string
  default = "one"
}

resource "tfcoremock_simple_resource" "it" {
  id      = "simple"
  string  = var.revision
  number  = 3
  integer = 4
  float   = 1.5
  bool    = true
}

resource "tfcoremock_complex_resource" "it" {
  id     = "complex"
  string = var.revision
  list   = [{ string = "first" }, { string = var.revision }]
  set    = [{ number = 1 }, { number = 2 }]
  map    = { key = { bool = true } }
  object = { string = "inside" }
}

resource "tfcoremock_made_here" "it" {
  id    = "made"
  words = ["a", var.revision]
}

data "tfcoremock_simple_resource" "it" {
  id = "simple_data"
}

data "tfcoremock_complex_resource" "it" {
  id = "complex_data"
}

data "tfcoremock_made_here" "it" {
  id = "made_data"
}

output "read" {
  value = [
    data.tfcoremock_simple_resource.it.string,
    data.tfcoremock_complex_resource.it.object.string,
    data.tfcoremock_made_here.it.words,
  ]
}
