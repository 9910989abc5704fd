import departments

company = departments.Department("research")
company.hire("Ada")
print(company.staff[0].card())
