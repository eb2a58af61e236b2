output "address" {
  value = "${local.prefix}.0.1"
}

output "subnets" {
  value = { for index, zone in var.zones : zone => random_id.subnet[index].hex }
}

output "ranges" {
  value = null_resource.route[*].triggers.range
}
