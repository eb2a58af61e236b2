# The random provider needs no access. The local provider may write to ./generated.

plugin "hashicorp/local" {
  allow filesystem {
    directories = ["generated"]
    access      = ["read", "write"]
    reason      = "generated files only"
  }
}

plugin "hashicorp/random" {}
