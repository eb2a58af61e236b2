variables{
a=1
bbb="${c}"
}
provider "x"{}
run first {
command=plan
assert{
condition=a==b
error_message="x"
}
}
mock_provider "x"{
mock_resource "y"{
defaults={
a="b"
ccc=1
}
}
}
