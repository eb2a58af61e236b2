variable "name" {
  type = string
}

variable "settings" {
  type = object({
    version  = string
    replicas = number
    port     = number
    public   = bool
  })
}

variable "network" {
  description = "Address of the network that the service joins."
  type        = string
}

variable "directory" {
  type = string
}
