Feature: A scenario that fails

  Scenario: Secrets are very long
    Given I have random_password defined
    Then it must contain length
    And its value must be greater than 100
