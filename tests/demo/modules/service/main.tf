terraform {
  required_providers {
    local = {
      source = "hashicorp/local"
    }
    null = {
      source = "hashicorp/null"
    }
    random = {
      source = "hashicorp/random"
    }
  }
}

locals {
  scheme   = var.settings.public ? "https" : "http"
  endpoint = "${local.scheme}://${var.name}.${var.network}:${var.settings.port}"
}

resource "random_id" "release" {
  byte_length = 4

  keepers = {
    version = var.settings.version
  }
}

resource "random_pet" "instance" {
  count = var.settings.replicas

  prefix = var.name
}

resource "local_file" "unit" {
  filename        = "${var.directory}/${var.name}.conf"
  file_permission = "0644"
  content         = <<-EOT
    [service]
    name      = ${var.name}
    release   = ${random_id.release.hex}
    listen    = ${var.network}:${var.settings.port}
    replicas  = ${length(random_pet.instance)}
    instances = ${join(", ", random_pet.instance[*].id)}
  EOT
}

# Only what the world can reach is watched from outside.
resource "null_resource" "watch" {
  count = var.settings.public ? 1 : 0

  triggers = {
    endpoint = local.endpoint
    release  = random_id.release.id
  }

  depends_on = [local_file.unit]
}
