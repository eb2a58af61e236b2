output "name" {
  description = "Generated name of the platform."
  value       = local.name
}

output "endpoints" {
  description = "Where each service answers."
  value       = { for name, service in module.service : name => service.endpoint }
}

output "instances" {
  description = "All instances of all services."
  value       = flatten([for service in module.service : service.instances])
}

output "subnets" {
  value = module.network.subnets
}

output "inventory_sha256" {
  description = "Checksum of the inventory as it lies on disk."
  value       = data.local_file.inventory.content_sha256
}

output "review_year" {
  value = time_offset.review.year
}

output "secrets" {
  description = "The generated secrets, by name."
  value       = module.secrets.values
  sensitive   = true
}
