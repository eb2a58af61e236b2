resource "a" "b" {
provisioner "local-exec" {
command="echo"
environment={
A="b"
BCD="e"
}
}
lifecycle{
create_before_destroy=true
ignore_changes=[
tags,
]
}
dynamic "setting"{
for_each=var.settings
content{
name=setting.value
}
}
}
