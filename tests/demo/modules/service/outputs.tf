output "release" {
  value = random_id.release.hex
}

output "endpoint" {
  value = local.endpoint
}

output "instances" {
  value = random_pet.instance[*].id
}
