a="é" # one
bbb="日本語" # three
cc="👨‍👩‍👧" # one
d="🇯🇵👍🏽" # two
e="각" # one
日本=1
é=2
xxxxx=3
