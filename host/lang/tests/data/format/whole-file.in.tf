terraform{
required_version=">= 1.5"
required_providers{
random={
source="hashicorp/random"
version="~> 3.0"
}
}
}

provider "random" {}
locals{
names=toset([for n in var.names:lower(n) if n!=""])
tags=merge(var.tags,{
Name="${var.prefix}-x"
Owner=var.owner
})
}

module "network"{
source="./network"
for_each=local.names
name=each.key
providers={
random=random
}
depends_on=[
random_id.a,
]
}

output "ids"{
value={for k,m in module.network:k=>m.id}
sensitive=true
description=<<-EOT
    The identifiers of
      all networks.
  EOT
}

moved{
from=a.b
to=c.d[0]
}
check "x"{
data "http" "y"{
url="https://example.com"
}
assert{
condition=data.http.y.status_code==200
error_message="status ${data.http.y.status_code}"
}
}
