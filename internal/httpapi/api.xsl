<?xml version="1.0" encoding="UTF-8"?>
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="html" encoding="UTF-8"/>

  <xsl:template match="/">
    <html>
      <head>
        <title><xsl:value-of select="name(/*)"/><xsl:text> </xsl:text><xsl:value-of select="/*/@name | /*/@id"/></title>
        <style>
          body { font: 14px/1.4 sans-serif; margin: 1.5em; }
          ul { margin: 0; padding-left: 1.2em; list-style: none; }
          .attributes { color: #666; }
        </style>
      </head>
      <body><ul><xsl:apply-templates select="*"/></ul></body>
    </html>
  </xsl:template>

  <xsl:template match="*">
    <li>
      <b><xsl:value-of select="name()"/></b>
      <xsl:text> </xsl:text>
      <xsl:choose>
        <xsl:when test="starts-with(@href, '/')">
          <a href="{@href}"><xsl:apply-templates select="." mode="title"/></a>
        </xsl:when>
        <xsl:otherwise><xsl:apply-templates select="." mode="title"/></xsl:otherwise>
      </xsl:choose>
      <xsl:text> </xsl:text>
      <span class="attributes">
        <xsl:for-each select="@*[name() != 'name' and name() != 'id' and name() != 'idref' and name() != 'href']">
          <xsl:value-of select="concat(name(), '=', ., ' ')"/>
        </xsl:for-each>
      </span>
      <xsl:value-of select="text()"/>
      <xsl:if test="*"><ul><xsl:apply-templates select="*"/></ul></xsl:if>
    </li>
  </xsl:template>

  <xsl:template match="*" mode="title">
    <xsl:choose>
      <xsl:when test="@name"><xsl:value-of select="@name"/></xsl:when>
      <xsl:when test="@id"><xsl:value-of select="@id"/></xsl:when>
      <xsl:when test="@idref"><xsl:value-of select="@idref"/></xsl:when>
      <xsl:otherwise><xsl:value-of select="@href"/></xsl:otherwise>
    </xsl:choose>
  </xsl:template>
</xsl:stylesheet>
