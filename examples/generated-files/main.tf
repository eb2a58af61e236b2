# Writes a greeting and an inventory into ./generated.

terraform {
  required_providers {
    random = {
      source  = "hashicorp/random"
      version = "~> 3.7"
    }
    local = {
      source  = "hashicorp/local"
      version = "~> 2.5"
    }
  }
}

variable "services" {
  description = "Names of the services in the inventory."
  type        = set(string)
  default     = ["api", "web", "worker"]
}

resource "random_pet" "environment" {
  length = 2
}

resource "random_integer" "port" {
  for_each = var.services

  min = 20000
  max = 29999
}

resource "local_file" "greeting" {
  filename = "generated/greeting.txt"
  content  = "Welcome to ${random_pet.environment.id}.\n"
}

resource "local_file" "inventory" {
  filename = "generated/inventory.json"
  content = jsonencode({
    environment = random_pet.environment.id
    ports       = { for name in var.services : name => random_integer.port[name].result }
  })
}

output "environment" {
  value = random_pet.environment.id
}
