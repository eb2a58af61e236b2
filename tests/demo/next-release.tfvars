# The change of the demo: `web` gets a new version and one replica less,
# `worker` goes, `search` comes.
services = {
  web = {
    version  = "1.5.0"
    replicas = 2
    port     = 443
    public   = true
  }
  api = {
    version  = "1.4.0"
    replicas = 2
    port     = 8080
  }
  search = {
    version  = "0.1.0"
    replicas = 2
    port     = 9200
  }
}
