"""A check for checkov: checkov has none for resources of the embedded plugins."""

from checkov.common.models.enums import CheckCategories, CheckResult
from checkov.terraform.checks.resource.base_resource_check import BaseResourceCheck


class PasswordLength(BaseResourceCheck):
    def __init__(self, minimum, number):
        super().__init__(
            name=f"Passwords have {minimum} characters",
            id=f"CKV_TRIAL_{number}",
            categories=[CheckCategories.SECRETS],
            supported_resources=["random_password"],
        )
        self.minimum = minimum

    def scan_resource_conf(self, conf):
        return CheckResult.PASSED if conf["length"][0] >= self.minimum else CheckResult.FAILED


checks = [PasswordLength(10, 1), PasswordLength(100, 2)]
