terraform {
  required_providers {
    local = {
      source = "hashicorp/local"
    }
  }
}

# What changes when this does.
variable "revision" {
  type    = string
  default = "one"
}

resource "local_file" "it" {
  filename        = "made/plain.txt"
  content         = "revision ${var.revision}\n"
  file_permission = "0644"
}

resource "local_sensitive_file" "it" {
  filename = "made/secret.txt"
  content  = "secret ${var.revision}\n"
}

data "local_file" "it" {
  filename = local_file.it.filename
}

data "local_sensitive_file" "it" {
  filename = local_sensitive_file.it.filename
}

output "there" {
  value = provider::local::direxists(path.root)
}

output "content" {
  value = data.local_file.it.content
}
