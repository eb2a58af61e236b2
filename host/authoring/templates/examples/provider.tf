terraform {
  required_providers {
    @@name@@ = {
      source = "@@source@@"
    }
  }
}

provider "@@name@@" {}
