variable "name" {
  type = string
}

resource "terraform_data" "it" {
  input = var.name
}

output "name" {
  value = terraform_data.it.output
}
