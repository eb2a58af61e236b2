variable "revision" {
  type    = string
  default = "one"
}

variable "parts" {
  type    = list(string)
  default = ["left", "right"]
}

resource "random_pet" "name" {
  keepers = { revision = var.revision }
}

resource "random_password" "secret" {
  length = 12
}

resource "null_resource" "trigger" {
  triggers = { revision = var.revision }
}

resource "time_static" "created" {}

resource "local_file" "greeting" {
  filename = "${path.module}/greeting.txt"
  content  = "hello ${var.revision}\n"
}

resource "terraform_data" "part" {
  for_each = toset(var.parts)
  input    = "${each.key} ${var.revision}"
}

module "part" {
  source = "./part"
  name   = "inner ${var.revision}"
}

data "local_file" "greeting" {
  filename = local_file.greeting.filename
}

output "greeting" {
  value = data.local_file.greeting.content
}

output "parts" {
  value = [for part in terraform_data.part : part.output]
}

output "part" {
  value = module.part.name
}

output "pet" {
  value = random_pet.name.id
}

output "secret" {
  value     = random_password.secret.result
  sensitive = true
}
