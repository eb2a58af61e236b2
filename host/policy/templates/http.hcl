providers = ["hashicorp/http"]

hosts {
  description = "the hosts of the configuration's URLs"
}

allow network {
  hosts  = ["{hosts}"]
  reason = "the configuration's URLs"
}
