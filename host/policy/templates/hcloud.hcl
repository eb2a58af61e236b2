providers = ["hetznercloud/hcloud"]

allow network {
  hosts  = ["api.hetzner.cloud"]
  reason = "the Hetzner Cloud API"
}

allow environment {
  names  = ["HCLOUD_*"]
  reason = "credentials and settings"
}
