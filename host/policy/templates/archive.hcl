providers = ["hashicorp/archive"]

directories {
  description = "the directories of the files and of their archives; they must not contain configuration or states"
}

allow filesystem {
  directories = ["{directories}"]
  access      = ["read", "write"]
  reason      = "files and their archives"
}
