# What the expressions of unknown.tsv refer to: values that a plan does not know.

resource "terraform_data" "string" {
  input = "a"
}

resource "terraform_data" "number" {
  input = 1
}

resource "terraform_data" "bool" {
  input = true
}

resource "terraform_data" "list" {
  input = tolist(["a"])
}

resource "terraform_data" "set" {
  input = toset(["a"])
}

resource "terraform_data" "map" {
  input = tomap({ a = "a" })
}

resource "terraform_data" "tuple" {
  input = ["a", 1]
}

resource "terraform_data" "object" {
  input = { a = "a", b = 1 }
}

resource "terraform_data" "lists" {
  input = tolist([tolist(["a"])])
}

resource "terraform_data" "objects" {
  input = tolist([{ a = "a", b = 1 }])
}

resource "terraform_data" "numbers" {
  input = toset([1])
}

resource "terraform_data" "any" {
  input = jsondecode(terraform_data.string.id)
}

locals {
  id      = terraform_data.string.id
  string  = terraform_data.string.output
  number  = terraform_data.number.output
  bool    = terraform_data.bool.output
  list    = terraform_data.list.output
  set     = terraform_data.set.output
  map     = terraform_data.map.output
  tuple   = terraform_data.tuple.output
  object  = terraform_data.object.output
  lists   = terraform_data.lists.output
  objects = terraform_data.objects.output
  numbers = terraform_data.numbers.output
  any     = terraform_data.any.output
}
