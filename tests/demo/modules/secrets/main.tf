terraform {
  required_providers {
    local = {
      source = "hashicorp/local"
    }
    random = {
      source = "hashicorp/random"
    }
  }
}

resource "random_string" "salt" {
  length  = 8
  special = false
  upper   = false
}

resource "random_password" "secret" {
  for_each = var.names

  length           = 24
  min_numeric      = 2
  min_special      = 1
  override_special = "-_.!"

  keepers = {
    rotation = var.rotation
  }
}

resource "local_sensitive_file" "secret" {
  for_each = random_password.secret

  filename        = format("%s/%s.secret", var.directory, each.key)
  file_permission = "0600"
  content         = "${random_string.salt.result}:${each.value.result}\n"
}
