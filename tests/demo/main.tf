locals {
  name  = "${var.project}-${random_pet.platform.id}"
  build = "${path.root}/build"

  tags = merge(
    {
      project     = var.project
      environment = upper(var.environment)
    },
    var.tags,
  )

  public_services = [for name, service in var.services : name if service.public]
}

resource "random_pet" "platform" {
  length = 2

  keepers = {
    environment = var.environment
  }
}

resource "random_uuid" "deployment" {}

resource "random_shuffle" "zones" {
  input        = var.zones
  result_count = min(2, length(var.zones))
}

resource "time_static" "created" {}

resource "time_offset" "review" {
  base_rfc3339 = time_static.created.rfc3339
  offset_days  = 90
}

resource "time_rotating" "credentials" {
  rotation_days = 30
}

module "network" {
  source = "./modules/network"

  name  = local.name
  zones = var.zones
}

module "secrets" {
  source = "./modules/secrets"

  names     = var.secret_names
  directory = "${local.build}/secrets"
  rotation  = time_rotating.credentials.id
}

module "service" {
  source   = "./modules/service"
  for_each = var.services

  name      = each.key
  settings  = each.value
  network   = module.network.address
  directory = "${local.build}/services"
}

# What the services need before they are announced.
resource "time_sleep" "settle" {
  create_duration = "20ms"

  triggers = {
    releases = join(",", [for name in sort(keys(module.service)) : module.service[name].release])
  }
}

resource "null_resource" "announced" {
  for_each = toset(local.public_services)

  triggers = {
    endpoint = module.service[each.key].endpoint
    settled  = time_sleep.settle.id
  }
}

data "local_file" "motto" {
  filename = "${path.module}/files/motto.txt"
}

resource "local_file" "inventory" {
  filename        = "${local.build}/inventory.json"
  file_permission = "0644"
  content = jsonencode({
    deployment = random_uuid.deployment.result
    motto      = trimspace(data.local_file.motto.content)
    tags       = local.tags
    zones      = random_shuffle.zones.result
    subnets    = module.network.subnets
    services = {
      for name, service in module.service : name => {
        endpoint  = service.endpoint
        instances = service.instances
      }
    }
  })
}

resource "local_file" "runbook" {
  filename        = "${local.build}/RUNBOOK.md"
  file_permission = "0644"
  content = templatefile("${path.module}/files/runbook.md.tftpl", {
    name     = local.name
    review   = time_offset.review.rfc3339
    services = module.service
    secrets  = module.secrets.files
  })
}

resource "local_sensitive_file" "operator" {
  filename        = "${local.build}/operator.token"
  file_permission = "0600"
  content         = var.operator_token
}

# Read back once it is written: depends_on puts the read off until then.
data "local_file" "inventory" {
  filename   = local_file.inventory.filename
  depends_on = [local_file.inventory]
}
