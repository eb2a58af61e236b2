project     = "harbour"
environment = "production"

services = {
  web = {
    version  = "1.4.0"
    replicas = 3
    port     = 443
    public   = true
  }
  api = {
    version  = "1.4.0"
    replicas = 2
    port     = 8080
  }
  worker = {
    version  = "0.9.2"
    replicas = 1
    port     = 9000
  }
}

tags = {
  team  = "platform"
  costs = "4711"
}
