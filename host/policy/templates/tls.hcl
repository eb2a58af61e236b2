providers = ["hashicorp/tls"]
